#define DIALECT MODEL_DIALECT_RESPONSES
#include "tests/fuzz/fuzz_answer.h"
