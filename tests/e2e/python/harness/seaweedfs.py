"""SeaweedFS, which is an S3 server made by others, from a package of PyPI."""

import json
import subprocess
import time

from harness.from_pypi import installed
from harness.patience import patience
from harness.process import free_port

ACCESS_KEY, SECRET_KEY, BUCKET, REGION = "AKIDTEST", "secret/key+with=signs", "documents", "us-east-1"


class SeaweedFS:
    environment = {"TEST_S3_KEY": ACCESS_KEY, "TEST_S3_SECRET": SECRET_KEY}

    def __init__(self, folder):
        program = installed("seaweedfs") / "bin" / "weed"
        self.port = free_port()
        data, keys = folder / "data", folder / "keys.json"
        data.mkdir(parents=True)
        keys.write_text(json.dumps({"identities": [{"name": "test", "actions": ["Admin"], "credentials": [
            {"accessKey": ACCESS_KEY, "secretKey": SECRET_KEY}]}]}))
        ports = [f"-{name}={free_port()}" for name in (
            "master.port", "master.port.grpc", "volume.port", "volume.port.grpc", "filer.port", "filer.port.grpc",
            "s3.port.grpc")]
        self.log = open(folder / "log", "wb")
        self.process = subprocess.Popen(
            [program, "server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-dir={data}", "-filer", "-s3", f"-s3.port={self.port}",
             f"-s3.config={keys}", "-master.volumeSizeLimitMB=64", "-volume.max=50", *ports],
            cwd=folder, stdout=self.log, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + patience(60)
        while self.ask("PUT", f"/{BUCKET}")[0] != 200:  # it says nothing when it is ready
            assert self.process.poll() is None and time.monotonic() < deadline, (folder / "log").read_text()[-2000:]
            time.sleep(0.2)

    def close(self):
        self.process.terminate()
        self.process.wait(patience(30))
        self.log.close()

    def ask(self, method, path):
        """(status, body) of a signed request."""
        done = subprocess.run(["curl", "-s", "-X", method, "--aws-sigv4", f"aws:amz:{REGION}:s3", "-u",
                               f"{ACCESS_KEY}:{SECRET_KEY}", "-w", "\n%{http_code}", f"http://127.0.0.1:{self.port}{path}"],
                              capture_output=True, text=True, check=False)
        body, _, status = done.stdout.rpartition("\n")
        return int(status or 0), body

    def config(self, **more):
        """The section `files` of a configuration, and the environment that it names."""
        return {"files": {"s3": {"endpoint": f"http://127.0.0.1:{self.port}", "bucket": BUCKET, "region": REGION,
                                 "access_key_env": "TEST_S3_KEY", "secret_key_env": "TEST_S3_SECRET", **more}}}

    def names(self):
        return self.ask("GET", f"/{BUCKET}?list-type=2")[1].count("<Key>")

    def open_uploads(self):
        status, body = self.ask("GET", f"/{BUCKET}?uploads=")
        assert status == 200, body
        return body.count("<UploadId>")
