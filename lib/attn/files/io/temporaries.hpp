#pragma once
#include <csignal>
#include <functional>
#include <string>
#include <utility>

namespace attn {

/// A file or folder that remove_pending() removes while this object exists.
class Pending {
public:
    /// Constructs an empty object, without a path.
    Pending() = default;
    /// Converts to false if the path is longer than the system allows, or too many are pending.
    explicit Pending(const std::string& path);
    Pending(Pending&& other) noexcept : place_(std::exchange(other.place_, -1)) {}
    Pending& operator=(Pending other) noexcept {
        std::swap(place_, other.place_);
        return *this;
    }
    ~Pending();
    explicit operator bool() const { return place_ >= 0; }
    /// Declares the path an open folder, whose files are removed, too.
    void is_folder(int descriptor) const;

private:
    int place_ = -1;
};

/// Removes the temporaries of all files and folders that were not committed. Async-signal-safe, for
/// handlers of SIGINT or SIGTERM that end the program.
void remove_pending() noexcept;

/// A temporary next to a target until it is complete: `.NAME.PID-N.part`.
struct Temporary {
    std::string path{};
    Pending pending{};
    int descriptor = -1;
    int reason = 0;  ///< errno if there is none
};

/// Creates a temporary with a unique name, and registers it before it exists. `make` opens it, or
/// returns -1 and sets errno.
Temporary make_temporary(const std::string& target, const std::function<int(const char*)>& make);

/// A folder for temporaries next to `target`, removed with all files in it unless it is kept. It is
/// open from the start, so that it can be removed even if no descriptors are left.
class TemporaryFolder {
public:
    explicit TemporaryFolder(const std::string& target);
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    const std::string& path() const { return temporary_file_.path; }
    /// Returns errno if there is none; 0 otherwise.
    int reason() const { return temporary_file_.reason; }
    /// Keeps the folder, which was renamed.
    void keep() { temporary_file_.pending = {}; }

private:
    Temporary temporary_file_;
};

/// The lock under which one program at a time renames files in a folder, with signals blocked. If
/// the folder cannot be locked, programs do not wait for each other.
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

/// Returns the folder of a path with a trailing slash; empty for the current folder.
std::string folder_of(const std::string& path);

}  // namespace attn
