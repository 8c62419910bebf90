import { posix, relative } from 'node:path';
import { type OutputBundle, type Plugin, RolldownMagicString } from 'rolldown';

const MARK = '__urlOf';
/** Only functions are used of these, and most starts use none of them: 4 ms each. */
const LATE = /^node:(child_process|crypto|net|dns\/promises)$/;

/**
 * Every module keeps the URL that it would have by itself, so that migrations, threads and child programs are found where the
 * sources look for them.
 */
export function ownUrls(src: string): Plugin {
  return {
    name: 'own-urls',
    transform: {
      filter: { code: 'import.meta.url' },
      handler(code, id) {
        const file = relative(src, id).replaceAll('\\', '/').replace(/\.ts$/, '.js');
        const text = new RolldownMagicString(code);
        text.replaceAll('import.meta.url', `${MARK}(${JSON.stringify(file)})`);
        return { code: text.toString(), map: text.generateMap({ hires: true, source: id }).toString() };
      },
    },
    renderChunk: (code, { fileName }) =>
      rewritten(code, new RegExp(`${MARK}\\("([^"]+)"\\)`, 'g'), (_all, file = '') => {
        const path = posix.relative(posix.dirname(fileName), file);
        return `new URL(${JSON.stringify(path.startsWith('.') ? path : `./${path}`)}, import.meta.url).href`;
      }),
  };
}

/**
 * Takes modules of Node without importing them. An import reads every export, and some of those load half of Node when they are
 * read: `node:http` the whole of `fetch` (60 ms, 12 MB), `node:fs` all streams (8 ms), `node:util` the differ of `assert`.
 */
export const builtinsAsNeeded: Plugin = {
  name: 'builtins-as-needed',
  generateBundle(_options, bundle) {
    for (const file of Object.values(bundle)) {
      const left = file.type === 'chunk' ? /^(import|export) [^;]*"node:[^;]*;/m.exec(file.code) : null;
      if (left !== null) throw new Error(`${file.fileName} imports a module of Node: ${left[0]}`);
    }
  },
  renderChunk: (code) =>
    rewritten(
      code,
      /^import (?:([\w$]+)(?:, )?)?(\{[^}]*\})? from "(node:[^"]+)";$/gm,
      (_all, whole, names, module = '') => {
        const got = `process.getBuiltinModule("${module}")`;
        const first = whole === undefined ? [] : [`const ${whole} = ${got};`];
        if (names === undefined) return first.join('');
        const pairs = names.slice(1, -1).split(',').map(pairOf);
        const late = pairs.filter(([name]) => LATE.test(module) && /^[a-z]/.test(name));
        const now = pairs.filter((pair) => !late.includes(pair)).map(([name, own]) => `${name}: ${own}`);
        return [
          ...first,
          ...late.map(([name, own]) => `const ${own} = (...args) => ${got}.${name}(...args);`),
          ...(now.length === 0 ? [] : [`const { ${now.join(', ')} } = ${got};`]),
        ].join(' ');
      },
    ),
};

function pairOf(text: string): readonly [name: string, own: string] {
  const [name = '', own = name] = text.trim().split(' as ');
  return [name, own];
}

/**
 * Writes characters outside of ASCII as escapes. V8 keeps the text of a file for as long as its functions may be compiled, and one "…" makes it two bytes a
 * character: 1.1 MB more in every worker. At the end, because the bundler prints what plugins have rendered once more. Places in the source map of what stands
 * behind an escape on its line are a few columns off.
 */
export const oneByte: Plugin = {
  name: 'one-byte',
  generateBundle(_options, bundle) {
    for (const file of Object.values(bundle)) {
      if (file.type !== 'chunk') continue;
      const odd = /(?:\\|String\.raw`[^`]*)[^\0-\x7f]/.exec(file.code);
      if (odd !== null)
        throw new Error(`${file.fileName} has a character that cannot be escaped: ${odd[0].slice(-40)}`);
      file.code = file.code.replace(/[^\0-\x7f]/g, escaped);
    }
  },
};

const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** A module that is loaded later and is in a file with others has a file that only passes on its exports: one to open less. */
export const withoutFacades: Plugin = {
  name: 'without-facades',
  generateBundle(_options, bundle) {
    const targets = new Map<string, string>();
    for (const chunk of Object.values(bundle)) {
      if (chunk.type !== 'chunk' || chunk.isEntry || Object.keys(chunk.modules).length > 0) continue;
      const found = /^export \{([^}]*)\} from "\.\/([^"]+)";/.exec(chunk.code);
      if (found === null) continue;
      const [, exported = '', target = ''] = found;
      const fields = exported.split(',').map((text) => pairOf(text).toReversed().join(': all.'));
      targets.set(
        chunk.fileName,
        `import("${dirOf(chunk.fileName)}${target}").then((all) => ({ ${fields.join(', ')} }))`,
      );
    }
    for (const chunk of Object.values(bundle)) if (chunk.type === 'chunk') chunk.code = redirected(chunk, targets);
    for (const file of targets.keys()) drop(bundle, file);
  },
};

function redirected(
  { code, fileName }: { code: string; fileName: string },
  targets: ReadonlyMap<string, string>,
): string {
  const folder = posix.dirname(fileName);
  const pathTo = (file: string): string => {
    const path = posix.relative(folder, file);
    return path.startsWith('.') ? path : `./${path}`;
  };
  return code.replace(/import\("(\.[^"]+)"\)/g, (all, path: string) => {
    const target = targets.get(posix.join(folder, path));
    return target?.replace(/"([^"]+)"/, (_, file: string) => JSON.stringify(pathTo(file))) ?? all;
  });
}

function drop(bundle: OutputBundle, file: string): void {
  delete bundle[file];
  delete bundle[`${file}.map`];
}

function dirOf(file: string): string {
  const folder = posix.dirname(file);
  return folder === '.' ? '' : `${folder}/`;
}

function rewritten(
  code: string,
  pattern: RegExp,
  by: (...found: (string | undefined)[]) => string,
): { code: string; map: string } | undefined {
  const text = new RolldownMagicString(code);
  for (const found of code.matchAll(pattern)) {
    text.overwrite(found.index, found.index + found[0].length, by(...found));
  }
  return text.hasChanged() ? { code: text.toString(), map: text.generateMap({ hires: true }).toString() } : undefined;
}
