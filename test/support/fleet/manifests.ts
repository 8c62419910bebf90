/** Manifests of Kubernetes and KEDA, judged by their published schemas. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly [field: string]: unknown;
}

/** The documents of all YAML files of a folder, with the names of their files. */
export function manifestsIn(folder: string): readonly { readonly file: string; readonly manifest: Manifest }[] {
  const files = globSync('*.yaml', { cwd: folder }).toSorted();
  return files.flatMap((file) =>
    manifestsOf(readFileSync(join(folder, file), 'utf8')).map((manifest) => ({ file, manifest })),
  );
}

export function manifestsOf(text: string): readonly Manifest[] {
  return parseAllDocuments(text).flatMap((document) => {
    if (document.errors.length > 0) throw document.errors[0];
    const value = document.toJS() as Manifest | null;
    return value === null ? [] : [value];
  });
}

/** What is wrong with a manifest. A field that its schema does not know is wrong as well: a cluster would ignore it. */
export async function problemsOf(manifest: Manifest): Promise<readonly string[]> {
  const validate = await validatorOf(manifest);
  const read = new Set<string>();
  try {
    validate(watched(manifest, '', read));
  } catch (error) {
    return [(error as Error).message];
  }
  return unread(manifest, '', read).map((path) => `${path} is not a field`);
}

async function validatorOf({ apiVersion, kind }: Manifest): Promise<(of: object) => void> {
  const schemas = apiVersion.includes('keda.sh/') ? '@kubernetes-models/keda' : 'kubernetes-models';
  const module = (await import(`${schemas}/${apiVersion}/${kind}`)) as Record<
    string,
    { prototype: { validate: () => void } }
  >;
  const model = module[kind];
  if (model === undefined) throw new Error(`there is no schema of ${apiVersion} ${kind}`);
  return (of) => Reflect.apply(model.prototype.validate, of, []);
}

/** The published checks are compiled and pass over fields that they do not know. What they have read is what they know. */
function watched<T extends object>(value: T, path: string, read: Set<string>): T {
  return new Proxy(value, {
    get(target, key) {
      const found: unknown = Reflect.get(target, key);
      const at = `${path}/${String(key)}`;
      read.add(at);
      return typeof found === 'object' && found !== null ? watched(found, at, read) : found;
    },
  });
}

function unread(value: unknown, path: string, read: ReadonlySet<string>): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const at = `${path}/${key}`;
    return read.has(at) ? unread(inner, at, read) : [at];
  });
}
