import { checkWorkerId } from '../../core/names.ts';
import type { UpgradePolicy } from '../../core/release/policy.ts';
import type { AnswerOf } from '../../protocol/routes.ts';
import { releaseOf } from '../views.ts';
import type { Operations } from './operation.ts';

const GONE: ReadonlySet<string> = new Set(['offline', 'lost']);

export const upgradeOperations = {
  async getUpgrade(snapshot) {
    const policy = await snapshot.engine.upgrades.policy();
    const living = (await snapshot.workers()).filter(({ state }) => !GONE.has(state));
    const workers = living.map(({ name, state, metadata }) => ({ name, state, ...releaseOf(name, metadata, policy) }));
    return { ...viewPolicy(policy), workers };
  },

  async editUpgrade({ engine }, { body }) {
    for (const name of [...(body.pin ?? []), ...(body.unpin ?? [])]) checkWorkerId('worker name', name);
    return viewPolicy(await engine.upgrades.edit(body));
  },
} satisfies Operations;

function viewPolicy({ target, canary, pinned, refused }: UpgradePolicy): AnswerOf<'editUpgrade'> {
  return { ...(target === undefined ? {} : { target }), canary, pinned, refused };
}
