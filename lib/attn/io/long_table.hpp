#pragma once
#include <string>
#include <vector>

#include "attn/io/csv.hpp"
#include "attn/io/elements.hpp"
#include "attn/text/sink.hpp"

namespace attn {

/// Whether the fields of a first line are those of a long table: `step`, axes, `value`, and perhaps
/// columns of words after them, which are not read.
bool is_long_table(const std::vector<std::string>& columns);

/// Reads the lines after the first of a long table: one element a line, with the index along each
/// axis, in any order. Every step becomes a tensor of the axes that its lines fill in.
///
/// Shapes  axes in the order of the columns; an axis of length 0 cannot be told from an absent
///         step.
/// Range   float64; int64 where all are integers and float64 could not hold them.
/// Errors  InputError, starting with `label`, naming the line or the step: an index that is no
///         number, an element that is missing or occurs twice.
std::vector<NamedTensor> parse_long_table(CsvLines& lines, const std::vector<std::string>& columns,
                                          const std::string& label);

/// Writes `tensors` as one long table with a line for each element, in pieces: the columns are
/// `step`, the axes that any tensor has, in an order that keeps every tensor's own, and `value`;
/// then for axes that have words, as `query_token`, the word of each index. An axis that a tensor
/// lacks is left empty. Numbers are the shortest text that reads back to the same bits; true is 1.
/// Errors  OutputError when two tensors, or two axes of one, share a name, and when two tensors
/// have
///         the same axes in contrary order.
void write_long_table(const Sink& sink, const std::vector<TensorRef>& tensors);

}  // namespace attn
