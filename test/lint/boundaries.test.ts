import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const house = plantedHouse();
after(() => rmSync(house, { recursive: true, force: true }));

/** A copy of the planted folder under the real configuration, laid out as the checkout is, so that the same globs match. */
function plantedHouse(): string {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-lint-'));
  cpSync(join(root, 'test/lint/planted'), folder, { recursive: true });
  for (const file of ['.oxlintrc.json', 'tsconfig.json']) cpSync(join(root, file), join(folder, file));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'src/store/long-file.ts'), 'export {};\n'.repeat(401));
  writeFileSync(join(folder, 'src/store/long-function.ts'), `export function f(): void {\n${'  f();\n'.repeat(60)}}\n`);
  return folder;
}

interface Finding {
  readonly place: string;
  readonly severity: string;
}

/** Everything that oxlint reports, as `file:line rule`. */
function lint(): readonly Finding[] {
  const script = join(root, 'node_modules/oxlint/bin/oxlint');
  const args = [script, '--format=json', 'src', 'web'];
  const report = JSON.parse(runAnyway(process.execPath, args)) as {
    diagnostics: { filename: string; severity: string; code: string; labels: { span: { line: number } }[] }[];
  };
  return report.diagnostics.map(({ filename, severity, code, labels }) => ({
    place: `${filename}:${labels[0]?.span.line} ${/\((.+)\)$/.exec(code)?.[1] ?? code}`,
    severity,
  }));
}

function runAnyway(command: string, args: readonly string[]): string {
  try {
    return execFileSync(command, args, { cwd: house, encoding: 'utf8', maxBuffer: 1e8 });
  } catch (error) {
    // Findings make the exit status 1; what was found is on the output all the same.
    return (error as { stdout: string }).stdout;
  }
}

const findings = lint();

/** What the planted files say about themselves: `// expect: rule rule` at the end of a line. */
function planted(): readonly string[] {
  return globSync('{src,web}/**/*.{ts,tsx}', { cwd: house }).flatMap((file) =>
    readFileSync(join(house, file), 'utf8')
      .split('\n')
      .flatMap((line, i) =>
        (/\/\/ expect: (.+)$/.exec(line)?.[1]?.split(' ') ?? []).map((rule) => `${file}:${i + 1} ${rule}`),
      ),
  );
}

test('every planted violation is reported at its line, and nothing else is', () => {
  const reported = new Set(findings.filter(({ severity }) => severity === 'error').map(({ place }) => place));
  const expected = new Set(planted());
  assert.ok(expected.size > 150, 'the planted folder is there');
  assert.deepEqual([...expected.difference(reported)], [], 'planted and not reported');
  assert.deepEqual([...reported.difference(expected)], [], 'reported in a clean twin');
});

test('a long file and a long function are pointed out, as warnings', () => {
  const warnings = findings.filter(({ severity }) => severity === 'warning');
  assert.deepEqual(warnings.map(({ place }) => place).sort(), [
    'src/store/long-file.ts:401 max-lines',
    'src/store/long-function.ts:1 max-lines-per-function',
  ]);
});

test('every folder of the house has a planted violation and a clean twin', () => {
  const rules = readFileSync(join(root, '.oxlintrc.json'), 'utf8');
  for (const folder of globSync('src/*/', { cwd: root })) {
    const name = folder.split('/')[1] as string;
    assert.match(rules, new RegExp(`"src/${name}/\\*\\*"`), `${name} has a boundary`);
    for (const twin of ['bad', 'good']) {
      assert.equal(globSync(`src/${name}/${twin}.ts`, { cwd: house }).length, 1, `${name} has ${twin}.ts`);
    }
  }
});

test('core, flow and engine never ask Date for the present time, which the linter cannot see', () => {
  for (const file of globSync('src/{core,flow,engine}/**/*.ts', { cwd: root })) {
    if (file.endsWith('.test.ts')) continue;
    assert.doesNotMatch(readFileSync(join(root, file), 'utf8'), /\bDate\(\s*\)/, file);
  }
});
