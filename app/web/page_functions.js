// The function that the page provides to the core (core.js); the linker allows no other undefined symbol.
mergeInto(LibraryManager.library, { letter: () => {} });
