// Declares the functions of host.js for the linker: emscripten's tools read only old JavaScript.
mergeInto(LibraryManager.library, {
    page_letter: function (what, point) { return Module["host"].asked(what, point); },
    node_is_terminal: function (descriptor) { return Module["host"].isTerminal(descriptor); },
    node_columns: function (descriptor) { return Module["host"].sizeOf(descriptor)[0]; },
    node_rows: function (descriptor) { return Module["host"].sizeOf(descriptor)[1]; },
    node_normalized: function (text, size, form, made) { return Module["host"].normalized(HEAPU8, text, size, form, made, _malloc); },
    node_pattern: function (text, size, reason, room) { return Module["host"].pattern(HEAPU8, text, size, reason, room); },
    node_matches: function (pattern, text, size, places) { return Module["host"].matches(HEAPU8, pattern, text, size, places); },
    node_deflate: function (from, size, to, room) { return Module["host"].deflate(HEAPU8, from, size, to, room); },
    node_inflater: function () { return Module["host"].inflater(); },
    node_feed: function (inflater, from, size) { return Module["host"].feed(HEAPU8, inflater, from, size); },
    node_take: function (inflater, to, room) { return Module["host"].take(HEAPU8, inflater, to, room); },
    node_end_inflater: function (inflater) { Module["host"].endInflater(inflater); },
});
