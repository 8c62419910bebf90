import { globSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';

/** What `package.json` names, and the command line. */
const NAMED = ['index.ts', 'testing.ts', 'compat/index.ts', 'cli/main.ts'];
/** Programs of child processes. They share their files with the library, which the tasks of a user import there as well. */
const CHILDREN = ['worker/runner/child/child.ts', 'worker/handlers/builtin.ts'];
/** How a module names another one that is started as a thread or a process, or loaded there. */
const BY_URL = /new URL\(`(\.[^$`]+)\$\{extname\(import\.meta\.url\)\}`, import\.meta\.url\)/g;

export interface Entries {
  readonly main: readonly string[];
  /** Threads share no code with the process around them, so each loads as little as it can. */
  readonly threads: readonly string[];
}

/** The modules, below `src`, that something else than an import of ours loads. */
export function entriesOf(src: string): Entries {
  const found = new Set<string>();
  for (const file of globSync('**/*.ts', { cwd: src })) {
    if (file.endsWith('.test.ts')) continue;
    for (const [, path = ''] of readFileSync(join(src, file), 'utf8').matchAll(BY_URL)) {
      found.add(`${posix.join(dirname(file), path)}.ts`);
    }
  }
  const threads = [...found].filter((file) => !CHILDREN.includes(file));
  return { main: [...NAMED, ...CHILDREN], threads };
}
