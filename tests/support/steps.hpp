#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/program.hpp"

/// Reading the program's JSON output, number by number.
namespace steps {

using Json = nlohmann::json;

inline Json of(const std::string& flags) {
    const program::Result result = program::run(flags + " --format json");
    REQUIRE_MESSAGE(result.exit_code == 0, flags << ": " << result.err);
    return Json::parse(result.out)["steps"];
}

/// The output of a printed command, run by a shell.
inline Json of_line(const std::string& line) {
    const program::Result result =
        program::shell(line.substr(0, line.find('\n')) + " --format json");
    REQUIRE_MESSAGE(result.exit_code == 0, line << ": " << result.err);
    CHECK(result.err == "");
    return Json::parse(result.out)["steps"];
}

inline void flatten(const Json& data, std::vector<std::string>& numbers) {
    if (!data.is_array()) return numbers.push_back(data.dump());
    for (const Json& part : data) flatten(part, numbers);
}

/// All numbers of a tensor with all their digits, in order.
inline std::vector<std::string> numbers_of(const Json& step) {
    std::vector<std::string> numbers;
    flatten(step["data"], numbers);
    return numbers;
}

}  // namespace steps
