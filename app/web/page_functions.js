// What the page gives the core (core.js): named here for the linker, which lets no other symbol stay undefined.
mergeInto(LibraryManager.library, { letter: () => {} });
