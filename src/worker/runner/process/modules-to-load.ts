import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ModuleToLoad } from '../child/messages.ts';

/** Modules whose exports are tasks; or the name of each task and the module that exports it. */
export type Modules = readonly string[] | Readonly<Record<string, string>>;

export function modulesToLoad(modules: Modules): readonly ModuleToLoad[] {
  if (isList(modules)) return [...new Set(modules.map(urlOf))].map((module) => ({ module, names: undefined }));
  const byModule = Map.groupBy(Object.keys(modules), (name) => urlOf(modules[name] ?? ''));
  return [...byModule].map(([module, names]) => ({ module, names }));
}

function urlOf(module: string): string {
  return isAbsolute(module) ? pathToFileURL(module).href : module;
}

function isList(modules: Modules): modules is readonly string[] {
  return Array.isArray(modules);
}
