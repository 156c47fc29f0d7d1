#include "app/cli.hpp"

#include <cstdlib>

#include "attn/ground/simd/matmul.hpp"

// Defined only in an OpenBLAS with kernels for many processors, as distributions build it.
extern "C" [[gnu::weak]] void gotoblas_dynamic_init();
extern "C" [[gnu::weak]] void gotoblas_dynamic_quit();

namespace app {
namespace {

constexpr const char *threads = "OPENBLAS_NUM_THREADS", *core = "OPENBLAS_CORETYPE";
const char* given_threads = nullptr;
bool chooses_core = false;

/// Configures OpenBLAS. The priority runs this before OpenBLAS's own constructor.
///
/// Why  OpenBLAS starts one thread per core, which takes as long as a small walk; large work uses
///      our own threads. On a processor that is newer than OpenBLAS it selects its slowest kernels.
///      Selected this early, it prints nothing, whatever OPENBLAS_VERBOSE is.
[[gnu::constructor(101)]] void set_up_blas() {
    given_threads = std::getenv(threads);
    setenv(threads, "1", 1);
    if (gotoblas_dynamic_init == nullptr || std::getenv(core) != nullptr) return;
    gotoblas_dynamic_init();
    const char* const better = attn::better_blas_core(attn::blas_core_type());
    chooses_core = better != nullptr && setenv(core, better, 1) == 0;
    gotoblas_dynamic_quit();
}

}  // namespace

void restore_environment() {
    // A shared OpenBLAS has already started before our constructor.
    if (gotoblas_dynamic_init != nullptr) gotoblas_dynamic_init();
    given_threads != nullptr ? setenv(threads, given_threads, 1) : unsetenv(threads);
    if (chooses_core) unsetenv(core);
}

}  // namespace app
