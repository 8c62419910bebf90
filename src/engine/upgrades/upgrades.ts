import { fault } from '../../core/errors.ts';
import { editedPolicy, NO_POLICY, type PolicyEdit, type UpgradePolicy } from '../../core/release/policy.ts';
import type { Store } from '../../store/store.ts';

export interface UpgradesDeps {
  readonly store: Pick<Store, 'settingRead' | 'settingSwap'>;
}

const NAME = 'upgrade';
/** Each time somebody else was faster. */
const TRIES = 20;

/** Which worker should run which release: one policy for the cluster. */
export class Upgrades {
  readonly #store: UpgradesDeps['store'];

  constructor({ store }: UpgradesDeps) {
    this.#store = store;
  }

  async policy(): Promise<UpgradePolicy> {
    return policyIn(await this.#store.settingRead({ name: NAME }));
  }

  /** Merges the edit into what others have written meanwhile. */
  async edit(edit: PolicyEdit): Promise<UpgradePolicy> {
    for (let tries = 0; tries < TRIES; tries++) {
      const before = await this.#store.settingRead({ name: NAME });
      const policy = editedPolicy(policyIn(before), edit);
      const value = JSON.stringify(policy);
      if (await this.#store.settingSwap({ name: NAME, before, value })) return policy;
    }
    throw fault('CONFLICT', { problem: 'others change the policy all the time' });
  }
}

function policyIn(text: string | undefined): UpgradePolicy {
  return text === undefined ? NO_POLICY : { ...NO_POLICY, ...(JSON.parse(text) as UpgradePolicy) };
}
