import type { Config } from '../../config/options.ts';
import type { UpgradeEditView, UpgradePolicyView } from '../../operate/views.ts';
import { outFor } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import { actingUser } from '../kit/acting-user.ts';
import { EXIT } from '../kit/exit.ts';
import { withOperator } from '../kit/operator-for.ts';

/** The policy in one or more sentences. */
export function policyWords({ target, canary, pinned, refused }: UpgradePolicyView): string {
  const goes =
    target === undefined
      ? `No worker is sent to another release.${canary === 100 ? '' : ` Of the next one ${canary} % would be.`}`
      : `Older workers go to release ${target}${canary === 100 ? '' : `, ${canary} % of them`}.`;
  const stay =
    pinned.length === 0 ? '' : ` ${pinned.map(safeLine).join(', ')} ${pinned.length === 1 ? 'stays' : 'stay'}.`;
  const refuse = refused.length === 0 ? '' : ` No work for release ${refused.join(', ')}.`;
  return `${goes}${stay}${refuse}`;
}

/** Edits the policy and says what it is now. */
export async function editPolicy(config: Config, body: UpgradeEditView): Promise<number> {
  const out = outFor(config);
  const policy = await withOperator(config, (operator) =>
    operator.call('editUpgrade', { body, by: actingUser(undefined) }),
  );
  if (out.mode === 'json') out.json(policy);
  else out.line(policyWords(policy));
  return EXIT.fine;
}
