#define DIALECT MODEL_DIALECT_CHAT
#include "tests/fuzz/fuzz_answer.h"
