import { fault } from '../../core/errors.ts';
import type { HookReference } from '../../flow/machine/definition.ts';
import { type BuiltinOptions, builtinHooks } from './builtin-hooks.ts';
import type { HooksFactory, MachineHooks } from './machine-hooks.ts';

/** Hooks by their names: those of the caller, and `logging`, `metrics` and `webhook`, unless the caller has others under these names. */
export class HooksRegistry {
  readonly #factories: Map<string, HooksFactory>;

  constructor({ onLog = toStandardError, ...options }: Partial<BuiltinOptions> = {}) {
    this.#factories = new Map(builtinHooks({ onFailure: onLog, ...options, onLog }));
  }

  register(name: string, factory: HooksFactory): this {
    this.#factories.set(name, factory);
    return this;
  }

  has(name: string): boolean {
    return this.#factories.has(name);
  }

  async resolve({ name, args }: HookReference, folder?: string): Promise<MachineHooks> {
    const factory = name === undefined ? undefined : this.#factories.get(name);
    if (factory !== undefined) return factory(args, folder);
    const known = [...this.#factories.keys()].sort().join(', ');
    throw fault(
      'NOT_FOUND',
      { kind: 'set of hooks', id: name ?? 'by module' },
      { hint: `Register it. There are: ${known || 'none'}.` },
    );
  }
}

const toStandardError = (line: string): void => void process.stderr.write(`${line}\n`);
