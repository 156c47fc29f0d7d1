#pragma once

namespace attn {

#if defined(__x86_64__)
/// Whether this processor has AVX2 and fused multiply-add. Asks the compiler's runtime, which also
/// checks that the system saves the wide registers.
inline bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

template <class Work>
[[gnu::target("avx2,fma")]] void compiled_with_avx2(Work& work) {
    work();
}
#endif

/// Calls `work`, compiled for AVX2 and fused multiply-add where the processor has them: the
/// compiler makes wider vectors of its loops, and one instruction of std::fma, which is a call of
/// the C library elsewhere. The results are the same.
///
/// Range   `work` must be inlined always, and all that it calls, for both ways to take it along.
template <class Work>
void with_avx2(Work work) {
#if defined(__x86_64__)
    if (has_avx2()) return compiled_with_avx2(work);
#endif
    work();
}

}  // namespace attn
