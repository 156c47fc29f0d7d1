#pragma once
#include <chrono>
#include <string>

namespace app {

/// One line on standard error that says how far long work has come. It is written only if that is
/// a terminal and the work has taken half a second already, and it is gone at the end.
class Progress {
public:
    Progress();
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// `done` goes from 0 to 1; `next` says what is worked on.
    void show(double done, const std::string& next);
    void clear();

private:
    bool to_terminal_;
    bool visible_ = false;
    std::chrono::steady_clock::time_point start_;
};

}  // namespace app
