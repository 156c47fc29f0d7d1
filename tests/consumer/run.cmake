# Installs everything, builds the consumer against the library and compares what it prints.
#     cmake -D build=... -D source=... -D scratch=... -D sanitized=... -P run.cmake
function(run)
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(NOT result EQUAL 0)
        message(FATAL_ERROR "failed: ${ARGN}\n${output}")
    endif()
    set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${scratch})
run(${CMAKE_COMMAND} --install ${build} --prefix ${scratch}/prefix)
run(${scratch}/prefix/bin/attn-explain --version)
foreach(file bash-completion/completions/attn-explain zsh/site-functions/_attn-explain
        fish/vendor_completions.d/attn-explain.fish man/man1/attn-explain.1 man/man1/attn-explain-why.1)
    if(NOT EXISTS ${scratch}/prefix/share/${file})
        message(FATAL_ERROR "share/${file} was not installed")
    endif()
endforeach()
set(flags "")
if(sanitized)
    set(flags -DCMAKE_CXX_FLAGS=-fsanitize=address,undefined)
endif()
run(${CMAKE_COMMAND} -S ${source} -B ${scratch}/build -G Ninja -DCMAKE_PREFIX_PATH=${scratch}/prefix ${flags})
run(${CMAKE_COMMAND} --build ${scratch}/build)
run(${scratch}/build/consumer)

set(expected "tensor([[0.3682, 0.2637, 0.3682],\n        [0.3318, 0.3364, 0.3318],\n        [0.3682, 0.2637, 0.3682]])\n")
string(APPEND expected "embed-dim 7 does not divide into 2 heads: pass head-dim, "
    "or an embed-dim that is a multiple of 2\n")
if(NOT output STREQUAL expected)
    message(FATAL_ERROR "the consumer prints\n${output}instead of\n${expected}")
endif()
message("the consumer prints what it should")
