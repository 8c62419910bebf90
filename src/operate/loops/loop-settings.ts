import { isMap, type Value } from '../../flow/expression/values.ts';
import { readConfig } from '../../flow/loop/config.ts';
import type { LoopConfig } from '../../flow/loop/config-keys.ts';
import { GIT_FIELDS, WORKTRUNK } from '../../flow/loop/git-keys.ts';

export { GIT_FIELDS, WORKTRUNK };

/** The settings of the input of a run, with those that it leaves out. */
export function settingsIn(input: Value): LoopConfig {
  if (!isMap(input)) return readConfig(undefined).config;
  const beside = GIT_FIELDS.filter((key) => (input[key] ?? undefined) !== undefined).map((key) => [key, input[key]]);
  return readConfig(input['config'], Object.fromEntries(beside)).config;
}
