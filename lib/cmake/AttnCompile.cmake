# The compile options of this project's targets. No option is global, and none tunes for the build
# machine: the printed digits depend on which operations are fused.
add_library(attn_compile INTERFACE)
target_compile_features(attn_compile INTERFACE cxx_std_20)
# Only the headers of fmt: lib/attn/ground/text/fmt.cpp compiles the rest.
target_include_directories(attn_compile SYSTEM INTERFACE
    $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)
# Only an explicit std::fma may fuse a product and a sum.
target_compile_options(attn_compile INTERFACE -ffp-contract=off)
target_compile_options(attn_compile INTERFACE -Wall -Wextra -Wpedantic -Wconversion
                                              -Wno-sign-conversion -Wnon-virtual-dtor)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 warns of uninitialised memory in an empty std::optional<std::variant>, and of
    # overlapping copies in "text" + std::string (its bug 105329).
    target_compile_options(attn_compile INTERFACE -Wno-maybe-uninitialized -Wno-restrict)
    # GCC treats files that are compiled together as headers when it checks for types of one file.
    target_compile_options(attn_compile INTERFACE -Wno-subobject-linkage)
    # A name may be that of a constant in another file that is compiled in the same unit.
    target_compile_options(attn_compile INTERFACE -Wshadow=local)
    # GCC collects its garbage from 128 MB on, for an eighth of its time; the largest unit takes 1.4 GB,
    # with the sanitizers more.
    target_compile_options(attn_compile INTERFACE --param=ggc-min-heapsize=1048576)
endif()
# Headers and templates take longer to compile than the sources, so the files of a wing (attn/judge,
# tests/app) are compiled 32 at a time.
function(attn_compile_wings_at_once target)
    get_target_property(sources ${target} SOURCES)
    foreach(source IN LISTS sources)
        get_filename_component(path ${source} ABSOLUTE)
        string(REPLACE "${PROJECT_SOURCE_DIR}/" "" path ${path})
        string(REGEX MATCH "^(lib/attn/|[a-z]+/)[a-z]+/" wing "${path}")
        string(MAKE_C_IDENTIFIER "${wing}" wing)
        math(EXPR part "${files_in_${wing}}0 / 320")
        math(EXPR files_in_${wing} "${files_in_${wing}}0 / 10 + 1")
        set_source_files_properties(${source} TARGET_DIRECTORY ${target}
                                    PROPERTIES UNITY_GROUP "${wing}_${part}")
    endforeach()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ${ATTN_UNITY} UNITY_BUILD_MODE GROUP)
endfunction()
if(ATTN_WARNINGS_AS_ERRORS)
    target_compile_options(attn_compile INTERFACE -Werror)
endif()
if(ATTN_SANITIZE)
    # The address sanitizer detects null and dangling objects, and pointers that are used outside
    # of one: checking before each access too would take a quarter of the build.
    set(sanitizers -Og -g1 -fsanitize=address,undefined
                   -fno-sanitize=null,vptr,object-size,pointer-overflow
                   -fno-sanitize-recover=all -fno-omit-frame-pointer)
    # Tests are compiled without them, exactly as in other builds: the code that they call is examined.
    set(examined $<NOT:$<BOOL:$<TARGET_PROPERTY:ATTN_CALLS_ONLY>>>)
    target_compile_options(attn_compile INTERFACE "$<${examined}:${sanitizers}>")
    # Overruns of constants are detected by the library's assertions and by UBSan. Redzones around
    # some hundred thousand literals would be set up at every start of the program, which took
    # longer than the command itself.
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        target_compile_options(attn_compile INTERFACE $<${examined}:--param=asan-globals=0>)
    endif()
    # The tests start the program thousands of times, and each start would move two million addresses.
    target_link_options(attn_compile INTERFACE -fsanitize=address,undefined -no-pie)
endif()
