import { existsSync } from 'node:fs';

/** Whether a word of the command line is a file, or else the name of a stored workflow. */
export function isFile(word: string): boolean {
  return /[\\/]|\.(json|ya?ml)$/.test(word) || existsSync(word);
}
