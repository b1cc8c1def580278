import type { LanguageAdapter } from './adapter.js'
import { bootClang, clang } from './clang.js'

/** C++ (gnu++20) by clang for wasm32, with its library but without exceptions: throwing one ends the program. */
export const cpp: LanguageAdapter = {
  ...clang,
  name: 'cpp',
  module: import.meta.url,
  aliases: ['c++', 'cxx', 'cc', 'c++17', 'c++20', 'g++', 'hpp'],
  canary: {
    source:
      '#include <cstdio>\n#include <fstream>\nstatic int left;\nint main() { std::ofstream f("/tmp/left"); ' +
      'std::printf("%d %zu %d %d\\n", 6 * 7, sizeof(long), left++, f.good()); }',
    stdout: '42 4 0 0\n',
  },
  boot: (context) => bootClang(context, 'cpp'),
}
