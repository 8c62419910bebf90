import { LINK_PROTOCOL } from '../../core/release/link-protocol.ts';
import { mayUpgrade } from '../../core/release/updater.ts';
import type { ReleaseReport, UpgradeOrder } from '../../protocol/frames.ts';
import { readState } from '../../worker/upgrade/install-folder.ts';
import { CONNECTED } from '../../worker/upgrade/worker-process.ts';

const MOST_SAID = 500;

export interface UpdaterLinkOptions {
  readonly version: string;
  /** The file of the updater; undefined: nobody upgrades this worker. */
  readonly file: string | undefined;
  readonly warn: (message: string, fields: Readonly<Record<string, unknown>>) => void;
  /** The worker is to finish what it runs, and end to be upgraded. */
  readonly upgrade: (order: UpgradeOrder) => void;
  /** The updater is gone: nobody would start the worker again, or another one will. */
  readonly abandoned: () => void;
}

/** A worker and the updater that has started it. */
export class UpdaterLink {
  readonly #options: UpdaterLinkOptions;
  #warned = '';

  constructor(options: UpdaterLinkOptions) {
    this.#options = options;
    if (options.file === undefined || process.send === undefined) return;
    process.once('disconnect', () => options.abandoned());
    // Listening for it would keep the process.
    process.channel?.unref();
  }

  /** What the worker says of itself with each connection. */
  readonly release = (): ReleaseReport => {
    const { version, file } = this.#options;
    return { version, protocol: [...LINK_PROTOCOL], ...(file === undefined ? {} : { updater: this.#updater(file) }) };
  };

  readonly onUpgrade = (order: UpgradeOrder): void => {
    const { file, upgrade } = this.#options;
    if (file !== undefined && this.#mayUpgrade(file)) return upgrade(order);
    const { required_version: wanted, must = false } = order;
    // Whoever started it can do what an updater would.
    if (file === undefined && must) return upgrade(order);
    if (this.#warned === wanted) return;
    this.#warned = wanted;
    const problem = file === undefined ? 'it has no updater' : 'its updater waits';
    this.#options.warn('the node wants this worker to be another release', { wanted, problem });
  };

  connected(): void {
    if (this.#options.file !== undefined) process.send?.(CONNECTED);
  }

  #mayUpgrade(file: string): boolean {
    try {
      return mayUpgrade(readState(file), Date.now());
    } catch {
      return false;
    }
  }

  #updater(file: string): NonNullable<ReleaseReport['updater']> {
    try {
      const { trial, pinned, notBefore, problem } = readState(file);
      const isWaiting = (notBefore ?? 0) > Date.now();
      const state = trial !== undefined ? 'trial' : !isWaiting ? 'ready' : pinned === true ? 'pinned' : 'waiting';
      return {
        state,
        ...(isWaiting && notBefore !== undefined ? { until: notBefore } : {}),
        ...(problem === undefined ? {} : { problem: problem.slice(0, MOST_SAID) }),
      };
    } catch (error) {
      return { state: 'broken', problem: (error instanceof Error ? error.message : String(error)).slice(0, MOST_SAID) };
    }
  }
}
