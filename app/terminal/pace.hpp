#pragma once
#include <cstdio>

namespace app {

/// Waits for Enter between the parts of an output, for who tells its story in front of others.
///
/// The keys come from the terminal itself, also where standard input is something else. Where the
/// output or the keys have no terminal, and after the end of its input, nothing waits.
class Pace {
public:
    Pace();
    ~Pace();
    Pace(const Pace&) = delete;
    Pace& operator=(const Pace&) = delete;

    /// Shows a hint, waits for Enter and takes the hint away again.
    void wait();

private:
    std::FILE* keys_ = nullptr;
};

}  // namespace app
