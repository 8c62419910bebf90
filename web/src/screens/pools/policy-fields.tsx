/** The fields of a policy. */

import { DEFAULTS, type PolicyDraft, type PolicyField } from '../../model/pool/form.ts';
import { Field } from '../../ui/fields.tsx';

const FIELDS: readonly (readonly [PolicyField, label: string, hint: string])[] = [
  ['min', 'Least', 'Workers that are there without any task'],
  ['max', 'Most', 'Those on their way count'],
  ['tasksPerWorker', 'Tasks per worker', 'How many one worker is there for'],
  ['scaleUpThreshold', 'Another worker from', 'So many tasks must wait'],
  ['targetWaitMs', 'Target wait', 'After it a task has a worker of its own; empty: none'],
  ['idleMs', 'Sent home after', 'Without a task for so long'],
  ['cooldownUpMs', 'Pause after starts', 'Before others are started'],
  ['cooldownDownMs', 'Pause before anybody goes', 'After each change'],
  ['burst', 'One check starts', 'At most'],
  ['startMs', 'A start may take', 'Then nobody waits for it'],
];

export function PolicyFields({
  draft,
  problems,
  onChange,
}: {
  readonly draft: PolicyDraft;
  readonly problems: Readonly<Record<string, string>>;
  readonly onChange: (draft: PolicyDraft) => void;
}) {
  return (
    <div className="fields policy-fields">
      {FIELDS.map(([field, label, hint]) => (
        <Field key={field} label={label} hint={hint} problem={problems[field]}>
          {(props) => (
            <input
              {...props}
              className="input"
              autoComplete="off"
              spellCheck={false}
              placeholder={DEFAULTS[field]}
              value={draft[field]}
              onChange={(event) => onChange({ ...draft, [field]: event.target.value })}
            />
          )}
        </Field>
      ))}
    </div>
  );
}
