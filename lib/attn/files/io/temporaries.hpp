#pragma once
#include <csignal>
#include <functional>
#include <string>
#include <utility>

namespace attn {

/// A path that remove_pending() takes away, a file or a folder, as long as this is there.
class Pending {
public:
    /// No path.
    Pending() = default;
    /// False where the path is longer than the system allows, or too many are pending.
    explicit Pending(const std::string& path);
    Pending(Pending&& other) noexcept : place_(std::exchange(other.place_, -1)) {}
    Pending& operator=(Pending other) noexcept {
        std::swap(place_, other.place_);
        return *this;
    }
    ~Pending();
    explicit operator bool() const { return place_ >= 0; }
    /// Says that the path is an open folder, whose files go too.
    void is_folder(int descriptor) const;

private:
    int place_ = -1;
};

/// Removes the temporaries of all files and folders that were not committed yet. It is
/// async-signal-safe: made to be called by a handler of SIGINT or SIGTERM that ends the program.
void remove_pending() noexcept;

/// What lies beside a target until it is whole: `.NAME.PID-N.part`.
struct Temporary {
    std::string path{};
    Pending pending{};
    int descriptor = -1;
    int reason = 0;  ///< why there is none, of errno
};

/// Makes a temporary with a name that no other has, and lists it before it is there. `make` opens
/// what it makes, or says -1 and errno.
Temporary make_temporary(const std::string& target, const std::function<int(const char*)>& make);

/// A folder for temporaries beside `target`, removed with all files in it unless it is kept. It is
/// open from the beginning, so that it can be removed when there are no descriptors left.
class TemporaryFolder {
public:
    explicit TemporaryFolder(const std::string& target);
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    const std::string& path() const { return made_.path; }
    /// Why there is none, of errno; 0 where there is.
    int reason() const { return made_.reason; }
    /// It has got another name: nothing is removed.
    void keep() { made_.pending = {}; }

private:
    Temporary made_;
};

/// The turn of one program to rename files in a folder, which no signal ends in between. Without a
/// lock on the folder programs do not wait for each other.
class Turn {
public:
    explicit Turn(const std::string& folder);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

private:
    int descriptor_;
    sigset_t before_{};
};

/// The folder of a path with a slash at its end, empty for the one the program is in.
std::string folder_of(const std::string& path);

}  // namespace attn
