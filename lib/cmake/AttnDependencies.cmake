# Finds the dependencies of the project. For a missing package it prints the command that installs
# it, instead of find_package's page of search paths.
macro(attn_need package debian_package)
    find_package(${package} QUIET ${ARGN})
    if(NOT ${package}_FOUND)
        message(FATAL_ERROR "attn-explain needs ${package}: apt-get install ${debian_package}")
    endif()
endmacro()

attn_need(xtensor libxtensor-dev)
attn_need(xsimd libxsimd-dev)
attn_need(CLI11 libcli11-dev)
attn_need(fmt libfmt-dev)
attn_need(nlohmann_json nlohmann-json3-dev)
attn_need(Threads libc6-dev)

# xtensor-blas is header-only. Its CMake package would search for LAPACK, which is not used here.
find_path(ATTN_XTENSOR_BLAS_INCLUDE NAMES xtensor-blas/xblas.hpp)
if(NOT ATTN_XTENSOR_BLAS_INCLUDE)
    message(FATAL_ERROR "attn-explain needs xtensor-blas: apt-get install libxtensor-blas-dev")
endif()

# OpenBLAS itself, never libblas: the alternatives system may point that at the reference BLAS.
find_library(ATTN_OPENBLAS_STATIC NAMES libopenblas.a)
find_library(ATTN_OPENBLAS_SHARED NAMES openblas)
find_path(ATTN_OPENBLAS_INCLUDE NAMES openblas_config.h PATH_SUFFIXES openblas x86_64-linux-gnu)
if(NOT ATTN_OPENBLAS_SHARED OR NOT ATTN_OPENBLAS_INCLUDE)
    message(FATAL_ERROR "attn-explain needs OpenBLAS: apt-get install libopenblas-dev")
endif()

# A static OpenBLAS depends on Fortran and, on x86, quadmath, which only the compiler can locate.
function(attn_find_beside_compiler result file)
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${file}
                    OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT IS_ABSOLUTE "${path}")
        set(path "")
    endif()
    set(${result} "${path}" PARENT_SCOPE)
endfunction()

set(ATTN_LINK_STATIC OFF)
if(ATTN_STATIC AND NOT ATTN_SANITIZE)
    set(ATTN_LINK_STATIC ON)
    attn_find_beside_compiler(ATTN_GFORTRAN libgfortran.a)
    attn_find_beside_compiler(ATTN_QUADMATH libquadmath.a)
    if(NOT ATTN_OPENBLAS_STATIC)
        message(FATAL_ERROR "no libopenblas.a for a static program: pass -DATTN_STATIC=OFF")
    endif()
    if(NOT ATTN_GFORTRAN)
        message(FATAL_ERROR "attn-explain needs Fortran: apt-get install libgfortran-12-dev")
    endif()
endif()

# utf8proc has no CMake package of its own.
find_path(ATTN_UTF8PROC_INCLUDE NAMES utf8proc.h)
find_library(ATTN_UTF8PROC NAMES libutf8proc.a utf8proc)
if(NOT ATTN_UTF8PROC OR NOT ATTN_UTF8PROC_INCLUDE)
    message(FATAL_ERROR "attn-explain needs utf8proc: apt-get install libutf8proc-dev")
endif()

# PCRE2, for the patterns of tokenizers. Its CMake package has only the shared library.
find_path(ATTN_PCRE2_INCLUDE NAMES pcre2.h)
find_library(ATTN_PCRE2 NAMES libpcre2-8.a pcre2-8)
if(NOT ATTN_PCRE2 OR NOT ATTN_PCRE2_INCLUDE)
    message(FATAL_ERROR "attn-explain needs PCRE2: apt-get install libpcre2-dev")
endif()

# zlib, for .npz and .pt. CMake's own module would link it dynamically.
find_path(ATTN_ZLIB_INCLUDE NAMES zlib.h)
find_library(ATTN_ZLIB NAMES libz.a z)
if(NOT ATTN_ZLIB_INCLUDE OR NOT ATTN_ZLIB)
    message(FATAL_ERROR "attn-explain needs zlib: apt-get install zlib1g-dev")
endif()

# ncurses, wide characters: CMake's own module supports neither the static libraries nor their link
# order.
find_path(ATTN_CURSES_INCLUDE NAMES curses.h)
find_library(ATTN_CURSES NAMES libncursesw.a ncursesw)
find_library(ATTN_TINFO NAMES libtinfo.a tinfo)
if(NOT ATTN_CURSES_INCLUDE OR NOT ATTN_CURSES OR NOT ATTN_TINFO)
    message(FATAL_ERROR "attn-explain needs ncurses: apt-get install libncurses-dev")
endif()

# gumbo, which reads the pages that proofread is given.
find_path(ATTN_GUMBO_INCLUDE NAMES gumbo.h)
find_library(ATTN_GUMBO NAMES libgumbo.a gumbo)
if(NOT ATTN_GUMBO_INCLUDE OR NOT ATTN_GUMBO)
    message(FATAL_ERROR "attn-explain needs gumbo: apt-get install libgumbo-dev")
endif()
