import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { stringify } from 'yaml';
import type { Entry } from '../../core/settings/compare.ts';
import type { SettingsWord } from '../../core/settings/kinds.ts';

type Found = ReadonlyMap<SettingsWord, ReadonlyMap<string, Entry>>;

/** Settings as a file says them: tags as a list, everything else by name. */
export function settingsValue(found: Found): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    [...found].map(([word, things]) => [word, word === 'tags' ? [...things.keys()] : Object.fromEntries(things)]),
  );
}

export function settingsText(found: Found, format: 'yaml' | 'json'): string {
  const value = settingsValue(found);
  return format === 'json'
    ? `${JSON.stringify(value, undefined, 2)}\n`
    : stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });
}

/** Replaces a file as a whole: a crash leaves the old one or the new one. */
export async function writeWhole(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const fresh = `${file}.${process.pid}.new`;
  try {
    await writeFile(fresh, text, { flush: true });
    await rename(fresh, file);
  } catch (error) {
    await rm(fresh, { force: true });
    throw error;
  }
}

export async function writeJsonFiles(
  folder: string,
  files: Readonly<Record<string, unknown>>,
): Promise<readonly string[]> {
  const written: string[] = [];
  for (const [name, value] of Object.entries(files)) {
    const file = join(folder, name);
    await writeWhole(file, `${JSON.stringify(value, undefined, 2)}\n`);
    written.push(file);
  }
  return written;
}
