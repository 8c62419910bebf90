/** The shape of the house: how many files lie side by side, how long they are, and that no file imports itself by way of others. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const MOST_FILES = 30;
const MOST_LINES = 500;
const MOST_LONG_FILES = 2;

const files = globSync('{src,web/src,test,bench}/**/*', {
  cwd: root,
  exclude: (path) => /node_modules|planted|landed|migrations|fixtures|dist$/.test(path),
}).filter((path) => /\.(ts|tsx|md|css|json)$/.test(path));
const code = files.filter((path) => /\.tsx?$/.test(path));
const product = code.filter((path) => /^(src|web)\//.test(path) && !/\.test\.ts$|\/conformance\//.test(path));

test('no folder has more than thirty files side by side', () => {
  const crowded = [...Map.groupBy(files, dirname)].filter(([, inside]) => inside.length > MOST_FILES);
  assert.deepEqual(
    crowded.map(([folder, inside]) => `${folder}: ${inside.length}`),
    [],
  );
});

test('at most two product files have more than five hundred lines', () => {
  const long = product.filter((path) => readFileSync(join(root, path), 'utf8').split('\n').length - 1 > MOST_LINES);
  assert.ok(long.length <= MOST_LONG_FILES, long.join(', '));
});

test('no file imports itself by way of others, not even for a type', () => {
  const imports = new Map(product.map((path) => [path, importsOf(path)]));
  assert.deepEqual(circlesOf(imports), []);
});

test('a circle is found, however many files it goes through', () => {
  const circle = new Map([
    ['a', ['b']],
    ['b', ['c', 'd']],
    ['c', ['a']],
    ['d', []],
  ]);
  assert.deepEqual(circlesOf(circle), ['a -> b -> c']);
});

function importsOf(path: string): readonly string[] {
  const text = readFileSync(join(root, path), 'utf8');
  return [...text.matchAll(/\b(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map(([, to = '']) =>
    normalize(join(dirname(path), to)),
  );
}

/** One way round for each circle, beginning with the file that was met first. */
function circlesOf(imports: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const circles: string[] = [];
  const done = new Set<string>();
  const way: string[] = [];
  const walk = (path: string): void => {
    const at = way.indexOf(path);
    if (at >= 0) circles.push(way.slice(at).join(' -> '));
    if (at >= 0 || done.has(path)) return;
    way.push(path);
    for (const to of imports.get(path) ?? []) walk(to);
    way.pop();
    done.add(path);
  };
  for (const path of imports.keys()) walk(path);
  return circles;
}

test('every file that a README, ARCHITECTURE.md or a checklist names is there', () => {
  const pages = globSync('{*.md,docs/*.md,docs/checklists/*.md,{src,test,bench,web}/**/README.md}', {
    cwd: root,
  }).filter((page) => !/node_modules|CHANGELOG/.test(page));
  const known = globSync('**/*.{ts,tsx,md,sql,json,js}', {
    cwd: root,
    exclude: (path) => /node_modules|dist$/.test(path),
  });
  const missing = pages.flatMap((page) => {
    const text = readFileSync(join(root, page), 'utf8');
    return (
      [...text.matchAll(/`((?:[\w.-]+\/)*[\w-]+\.(?:ts|tsx|md|sql))`/g)]
        .map(([, name = '']) => name.replace(/^(\.\.?\/)+/, ''))
        // A pattern, such as NNN-name.sql.
        .filter((name) => !/[A-Z]{3}/.test(name) || /README|ARCHITECTURE/.test(name))
        .filter((name) => !known.some((path) => path === name || path.endsWith(`/${name}`)))
        .map((name) => `${page}: ${name}`)
    );
  });
  assert.deepEqual(missing, []);
});
