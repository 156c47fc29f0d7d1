#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

namespace app {

/// Files that are waited for. One that is written counts when its writer has closed it, or has put
/// another in its place: never in between.
class WatchedFiles {
public:
    /// Errors  InputError where the system watches no more files.
    WatchedFiles();
    ~WatchedFiles();
    WatchedFiles(const WatchedFiles&) = delete;
    WatchedFiles& operator=(const WatchedFiles&) = delete;

    /// From here on a change of this file, or of any in this folder, is noticed.
    void add(const std::string& path);
    bool empty() const { return names_.empty(); }

    /// Waits for a change, and a moment for others that come with it.
    void wait();

private:
    void watch_folder(const std::string& folder, const std::string& name);
    bool read_events();

    int queue_;
    std::map<int, std::set<std::string>> names_;  ///< of each folder; an empty one is any
};

}  // namespace app
