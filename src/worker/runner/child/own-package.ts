import { registerHooks } from 'node:module';
import { extname } from 'node:path';

const ENTRIES: Readonly<Record<string, string>> = {
  leasehold: '../../../index',
  'leasehold/testing': '../../../testing',
  'leasehold/compat': '../../../compat/index',
};

/**
 * Makes `import { task } from 'leasehold'` work in every file of tasks, also in a folder that has no package installed. Where
 * the name does not resolve, it resolves to the running package.
 */
export function findOwnPackage(): void {
  registerHooks({
    resolve(specifier, context, next) {
      const entry = Object.hasOwn(ENTRIES, specifier) ? ENTRIES[specifier] : undefined;
      if (entry === undefined) return next(specifier, context);
      try {
        return next(specifier, context);
      } catch {
        return { url: new URL(`${entry}${extname(import.meta.url)}`, import.meta.url).href, shortCircuit: true };
      }
    },
  });
}
