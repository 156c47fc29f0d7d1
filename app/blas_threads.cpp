#include "app/cli.hpp"

#include <cstdlib>

namespace app {
namespace {

constexpr const char* variable = "OPENBLAS_NUM_THREADS";
const char* given = nullptr;

/// Before main() OpenBLAS starts as many threads as it is told, or one for each core, which takes
/// as long as a small walk. It shall start none: those that share large work are our own. The
/// priority runs this ahead of OpenBLAS's own constructor.
[[gnu::constructor(101)]] void start_blas_without_threads() {
    given = std::getenv(variable);
    setenv(variable, "1", 1);
}

}  // namespace

void restore_environment() {
    if (given != nullptr) {
        setenv(variable, given, 1);
    } else {
        unsetenv(variable);
    }
}

}  // namespace app
