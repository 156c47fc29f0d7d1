#pragma once
#include "tests/support/program.hpp"

/// A folder for one test, removed with all its contents, whose members are paths.
struct ScratchFolder : program::Folder {
    std::filesystem::path operator/(const std::string& name) const { return path() / name; }
};
