# The compile options of our own targets. Nothing here is global, and nothing tunes for the machine
# that builds: the printed digits depend on which operations are fused.
add_library(attn_compile INTERFACE)
target_compile_features(attn_compile INTERFACE cxx_std_20)
# fmt's headers alone: lib/attn/ground/text/fmt.cpp is the rest of it.
target_include_directories(attn_compile SYSTEM INTERFACE
    $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)
# Only an explicit std::fma may fuse a product and a sum.
target_compile_options(attn_compile INTERFACE -ffp-contract=off)
target_compile_options(attn_compile INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                                              -Wno-sign-conversion -Wnon-virtual-dtor)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 takes the empty state of a std::optional<std::variant> for uninitialised memory, and
    # "text" + std::string for overlapping copies (its bug 105329).
    target_compile_options(attn_compile INTERFACE -Wno-maybe-uninitialized -Wno-restrict)
    # Files that are compiled together look like headers to the check for types of one file.
    target_compile_options(attn_compile INTERFACE -Wno-subobject-linkage)
endif()
# Headers cost more than our own lines, so the files of a room are compiled sixteen at a time.
function(attn_compile_rooms_at_once target)
    get_target_property(sources ${target} SOURCES)
    foreach(source IN LISTS sources)
        get_filename_component(folder ${source} DIRECTORY)
        string(MAKE_C_IDENTIFIER "${folder}" room)
        math(EXPR part "${files_in_${room}}0 / 160")
        math(EXPR files_in_${room} "${files_in_${room}}0 / 10 + 1")
        set_source_files_properties(${source} TARGET_DIRECTORY ${target}
                                    PROPERTIES UNITY_GROUP "${room}_${part}")
    endforeach()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ${ATTN_UNITY} UNITY_BUILD_MODE GROUP)
endfunction()
if(ATTN_WARNINGS_AS_ERRORS)
    target_compile_options(attn_compile INTERFACE -Werror)
endif()
if(ATTN_SANITIZE)
    # A null or dead object is met by the address sanitizer too: asking before each of its members
    # would take a sixth of the build.
    target_compile_options(attn_compile INTERFACE -fsanitize=address,undefined
                                                  -fno-sanitize=null,vptr,object-size
                                                  -fno-sanitize-recover=all -fno-omit-frame-pointer)
    # Ends of constants are watched by the library's own assertions and by UBSan. Fences around each
    # of some hundred thousand literals would be put up at every start of the program, which took
    # longer than what it does.
    target_compile_definitions(attn_compile INTERFACE _GLIBCXX_ASSERTIONS)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        target_compile_options(attn_compile INTERFACE --param=asan-globals=0)
    endif()
    # The tests start the program thousands of times, and each start would move two million addresses.
    target_link_options(attn_compile INTERFACE -fsanitize=address,undefined -no-pie)
endif()
