#pragma once
#include <string>
#include <vector>

namespace attn {

/// A folder of files that appears whole or not at all: the files are written into a temporary
/// folder beside the target, and commit() exchanges the two. Without commit() the destructor
/// removes the temporary.
///
/// A target that exists must be empty, or hold a `walk.json` of this program and beside it nothing
/// but one file `NN_NAME.npy` for a step that it names. A folder with anything else is not touched.
///
/// Errors  OutputError naming the path and the reason, from every function.
class OutputFolder {
public:
    explicit OutputFolder(const std::string& path);
    ~OutputFolder();
    OutputFolder(const OutputFolder&) = delete;
    OutputFolder& operator=(const OutputFolder&) = delete;

    /// Where the file `name` of this folder is to be written.
    std::string file(const std::string& name);

    /// Makes the folder visible under its name, in the place of an older one.
    void commit();

private:
    [[noreturn]] void fail(const std::string& what, const std::string& advice) const;
    void check_replaced();
    void remove_replaced(const std::string& folder) const;

    std::string path_;       // as the caller said it, for messages
    std::string target_;     // absolute, with all symbolic links resolved
    std::string temporary_;  // empty once it is gone
    bool replaces_ = false;
    std::vector<std::string> replaced_;  // the files of the older folder
};

/// Removes the temporary of a folder that was not committed yet, as remove_pending_files() does for
/// files, and after it. Async-signal-safe.
void remove_pending_folder() noexcept;

}  // namespace attn
