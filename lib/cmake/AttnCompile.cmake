# The compile options of our own targets. Nothing here is global, and nothing tunes for the machine
# that builds: the printed digits depend on which operations are fused.
add_library(attn_compile INTERFACE)
target_compile_features(attn_compile INTERFACE cxx_std_20)
# Only an explicit std::fma may fuse a product and a sum.
target_compile_options(attn_compile INTERFACE -ffp-contract=off)
target_compile_options(attn_compile INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                                              -Wno-sign-conversion -Wnon-virtual-dtor)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 takes the empty state of a std::optional<std::variant> for uninitialised memory, and
    # "text" + std::string for overlapping copies (its bug 105329).
    target_compile_options(attn_compile INTERFACE -Wno-maybe-uninitialized -Wno-restrict)
endif()
if(ATTN_WARNINGS_AS_ERRORS)
    target_compile_options(attn_compile INTERFACE -Werror)
endif()
if(ATTN_SANITIZE)
    target_compile_options(attn_compile INTERFACE -fsanitize=address,undefined
                                                  -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(attn_compile INTERFACE -fsanitize=address,undefined)
endif()
