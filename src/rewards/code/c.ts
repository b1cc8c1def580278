import type { LanguageAdapter } from './adapter.js'
import { bootClang, clang } from './clang.js'

/** C (gnu17) by clang for wasm32: long and pointers have four bytes. */
export const c: LanguageAdapter = {
  ...clang,
  name: 'c',
  module: import.meta.url,
  aliases: ['c11', 'c17', 'c99', 'gcc', 'clang'],
  canary: {
    source:
      '#include <stdio.h>\n#include <stdlib.h>\nstatic int left;\nint main(void) { FILE *f = fopen("/tmp/left", "w"); ' +
      'printf("%d %zu %d %d\\n", 6 * 7, sizeof(long), left++, f != NULL || getenv("PATH") != NULL); }',
    stdout: '42 4 0 0\n',
  },
  boot: (context) => bootClang(context, 'c'),
}
