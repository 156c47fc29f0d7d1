#pragma once
#include "attn/diagnose/their_tensors.hpp"

namespace attn {

/// Somebody's tensors as they come in.
struct Intake {
    Ledger given;   ///< what the walk starts from, some of theirs perhaps
    Ledger theirs;  ///< the others, which it is compared with
    std::vector<std::string> remarks{};
};

/// Takes their query, key and value as given where nothing else makes these.
Intake taken_in(const Plan& plan, const Ledger& given, const Ledger& theirs,
                const DiagnoseOptions& options);

/// Says of tensors of which none is a step of the walk how to tell which is which.
/// Errors  ConfigError, always.
[[noreturn]] void refuse_tensors(const Ledger& theirs, const Ledger& reference);

}  // namespace attn
