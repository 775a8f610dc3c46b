"""Judges values by JSON Schema: fast where they are right, in detail where they are not.

A session judges tens of thousands of answers and events, and nearly all of them are right. jsonschema-rs says that in
microseconds. What it refuses is judged again by jsonschema, whose complaints say more; the two must agree.
`test_schemas.py` shows that jsonschema-rs accepts nothing that jsonschema refuses.
"""

import json

import jsonschema
import jsonschema_rs
import referencing


class Schemas:
    """The schemas of one document, which `urn` names: a reference is "{urn}#/..."."""

    def __init__(self, urn, document):
        resource = referencing.Resource(document, referencing.jsonschema.DRAFT202012)
        self.registry = referencing.Registry().with_resource(urn, resource)
        self.fast_registry = jsonschema_rs.Registry([(urn, document)], draft=jsonschema_rs.Draft202012)
        self.validators = {}

    def of(self, schema):
        """The two validators of a schema."""
        key = json.dumps(schema, sort_keys=True)
        if key not in self.validators:
            self.validators[key] = (
                jsonschema_rs.Draft202012Validator(schema, registry=self.fast_registry),
                jsonschema.Draft202012Validator(schema, registry=self.registry))
        return self.validators[key]

    def errors(self, schema, value):
        """What is wrong with the value, as errors of jsonschema; empty when nothing is."""
        fast, slow = self.of(schema)
        if fast.is_valid(value):
            return []
        errors = list(slow.iter_errors(value))
        assert errors, f"only jsonschema-rs refuses {value!r:.2000}: {next(fast.iter_errors(value))}"
        return errors
