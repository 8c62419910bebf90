import { isMap, type Value } from '../../flow/expression/values.ts';
import { readConfig } from '../../flow/loop/config.ts';
import type { LoopConfig } from '../../flow/loop/config-keys.ts';

/** The settings of the input of a run, with those that it leaves out. */
export const settingsIn = (input: Value): LoopConfig => readConfig(isMap(input) ? input['config'] : undefined).config;
