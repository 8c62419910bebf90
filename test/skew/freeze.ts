/** Freezes a node and a worker of a commit for the tests of this folder: `node test/skew/freeze.ts COMMIT`. */
import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The programs of the fixture. They are those of this tree, on the sources of the commit. */
const PROGRAMS = ['node-child.ts', 'worker-child.ts'];
const OTHERS = ['handlers.ts', 'program.ts'];
/** Migrations are read from `../migrations/`, and threads are started from `./NAME-thread`, both beside the file that does it. */
const CODE = 'code';
const MIGRATIONS = 'migrations';

/** Writes the fixture of a commit into a folder, and answers the full hash of the commit. */
export async function freeze(commit: string, into: string): Promise<string> {
  const git = (...args: readonly string[]): string => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();
  const hash = git('rev-parse', '--verify', `${commit}^{commit}`);
  const tree = mkdtempSync(join(tmpdir(), 'leasehold-freeze-'));
  try {
    const archive = execFileSync('git', ['archive', hash, 'src', 'package.json'], { cwd: ROOT, maxBuffer: 2 ** 28 });
    execFileSync('tar', ['-x', '-C', tree], { input: archive });
    const programs = join(tree, 'test/skew');
    mkdirSync(programs, { recursive: true });
    for (const file of [...PROGRAMS, ...OTHERS]) cpSync(join(ROOT, 'test/skew', file), join(programs, file));
    rmSync(into, { recursive: true, force: true });
    const threads = globSync('src/{store/sqlite,worker}/**/*-thread.ts', { cwd: tree }).map((file) => join(tree, file));
    for (const input of [...PROGRAMS.map((file) => join(programs, file)), ...threads]) {
      await bundle(input, join(into, CODE, `${basename(input, '.ts')}.mjs`));
    }
    cpSync(join(tree, 'src/store/sqlite/migrations'), join(into, MIGRATIONS), { recursive: true });
    writeFileSync(join(into, 'frozen.json'), `${JSON.stringify({ commit: hash }, undefined, 2)}\n`);
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
  return hash;
}

/** One file with all our sources. Packages of npm stay outside: they are those of the tree that runs it. */
async function bundle(input: string, file: string): Promise<void> {
  await build({
    input,
    platform: 'node',
    external: (id) => !id.startsWith('.') && !isAbsolute(id),
    tsconfig: false,
    output: { file, format: 'esm', codeSplitting: false, minify: { compress: false, mangle: false }, comments: false },
  });
}

if (import.meta.main) {
  const [commit = 'HEAD'] = process.argv.slice(2);
  const into = join(ROOT, 'test/skew/landed');
  const hash = await freeze(commit, into);
  const bytes = globSync('**/*', { cwd: into }).reduce((sum, file) => sum + statSync(join(into, file)).size, 0);
  process.stdout.write(`${hash}: ${Math.round(bytes / 1024)} KiB in ${into}\n`);
}
