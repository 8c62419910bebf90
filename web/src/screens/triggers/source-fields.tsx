/** What a trigger listens to: its kind, and the fields of that. */

import { KINDS, type TriggerDraft } from '../../model/trigger/form.ts';
import { EVENTS } from '../../model/trigger/words.ts';
import { Field, Segmented } from '../../ui/fields.tsx';
import { TextField } from './text-field.tsx';

const KIND_WORDS = { webhook: 'Webhook', event: 'Event', file: 'File', manual: 'By hand' } as const;
const ENDS = ['completed', 'failed', 'cancelled'] as const;

interface SourceProps {
  readonly draft: TriggerDraft;
  readonly problems: Readonly<Record<string, string>>;
  readonly onChange: (part: Partial<TriggerDraft>) => void;
}

export function SourceFields({ isNew, ...props }: SourceProps & { readonly isNew: boolean }) {
  const { draft, onChange } = props;
  return (
    <div className="stack">
      <Segmented
        label="What it listens to"
        options={KINDS.map((value) => ({ value, label: KIND_WORDS[value] }))}
        value={draft.kind}
        onChange={(kind) => onChange({ kind })}
      />
      {draft.kind === 'webhook' && <WebhookFields {...props} isNew={isNew} />}
      {draft.kind === 'event' && <EventFields {...props} />}
      {draft.kind === 'file' && <FileFields {...props} />}
      {draft.kind === 'manual' && (
        <p className="quiet">
          Nothing fires it but somebody who asks for it: here, with a token, or on the command line.
        </p>
      )}
    </div>
  );
}

const SIGNATURES = {
  leasehold: 'over id, time and body',
  github: 'as GitHub does',
  stripe: 'as Stripe does, and the handler http',
} as const;

const SECRETS = {
  keep: 'as it is',
  made: 'made by the node',
  value: 'one that the sender has chosen',
  env: 'in a variable of the nodes',
} as const;

function WebhookFields({ draft, problems, isNew, onChange }: SourceProps & { readonly isNew: boolean }) {
  const { signature, secret } = draft;
  // For one that is there, another made secret is what rotating is for.
  const offered = (isNew ? ['made', 'value', 'env'] : ['keep', 'value', 'env']) as readonly (keyof typeof SECRETS)[];
  const chosen = offered.includes(secret) ? secret : (offered[0] as keyof typeof SECRETS);
  return (
    <div className="fields two">
      <Field label="Its sender signs" problem={problems.signature}>
        {(props) => (
          <select
            {...props}
            className="input"
            value={signature}
            onChange={(event) => onChange({ signature: event.target.value as TriggerDraft['signature'] })}
          >
            {Object.entries(SIGNATURES).map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        )}
      </Field>
      <TextField
        label="A delivery may be so old"
        problem={problems.window}
        value={draft.window}
        placeholder="5m"
        onChange={(window) => onChange({ window })}
      />
      <Field label="Secret">
        {(props) => (
          <select
            {...props}
            className="input"
            value={chosen}
            onChange={(event) => onChange({ secret: event.target.value as TriggerDraft['secret'], secretText: '' })}
          >
            {offered.map((value) => (
              <option key={value} value={value}>
                {SECRETS[value]}
              </option>
            ))}
          </select>
        )}
      </Field>
      {(chosen === 'value' || chosen === 'env') && (
        <TextField
          label={chosen === 'value' ? 'The secret of the sender' : 'The variable'}
          hint={chosen === 'value' ? 'The node seals it and shows it to nobody' : 'Each node has it'}
          problem={problems.secretText}
          value={draft.secretText}
          placeholder={chosen === 'env' ? 'LEASEHOLD_HOOK_PAID' : ''}
          secret={chosen === 'value'}
          onChange={(secretText) => onChange({ secretText })}
        />
      )}
    </div>
  );
}

function EventFields({ draft, problems, onChange }: SourceProps) {
  const { on, states } = draft;
  return (
    <>
      <div className="fields two">
        <Field label="When" problem={problems.on}>
          {(props) => (
            <select
              {...props}
              className="input"
              value={on}
              onChange={(event) => onChange({ on: event.target.value as TriggerDraft['on'] })}
            >
              {Object.entries(EVENTS).map(([value, text]) => (
                <option key={value} value={value}>
                  {text}
                </option>
              ))}
            </select>
          )}
        </Field>
        {!on.startsWith('worker_') && (
          <TextField
            label="Only in these queues"
            hint="Separated by commas; empty: in all"
            problem={problems.queues}
            value={draft.queues}
            onChange={(queues) => onChange({ queues })}
          />
        )}
        <Field label="Events that come together" hint="Of a check one firing is enough">
          {(props) => (
            <select
              {...props}
              className="input"
              value={draft.together === undefined ? '' : String(draft.together)}
              onChange={({ target: { value } }) => onChange({ together: value === '' ? undefined : value === 'true' })}
            >
              <option value="">as its action needs it</option>
              <option value="true">are one firing</option>
              <option value="false">fire one by one</option>
            </select>
          )}
        </Field>
      </div>
      {on === 'task_finished' && (
        <div className="segmented" role="group" aria-label="How it ended">
          {ENDS.map((state) => (
            <button
              key={state}
              type="button"
              aria-pressed={states.includes(state)}
              onClick={() =>
                onChange({
                  states: states.includes(state) ? states.filter((one) => one !== state) : [...states, state],
                })
              }
            >
              {state}
            </button>
          ))}
        </div>
      )}
      {on === 'task_finished' && states.length === 0 && <p className="quiet">However it ended.</p>}
    </>
  );
}

function FileFields({ draft, problems, onChange }: SourceProps) {
  return (
    <div className="fields two">
      <TextField
        label="Folder"
        hint="On the node, below a root that it was started with: --trigger-root"
        problem={problems.folder}
        value={draft.folder}
        placeholder="/srv/papers"
        onChange={(folder) => onChange({ folder })}
      />
      <TextField
        label="Files"
        hint="A name with * and ?; empty: all"
        problem={problems.match}
        value={draft.match}
        placeholder="*.pdf"
        onChange={(match) => onChange({ match })}
      />
      <TextField
        label="Node"
        hint="That watches; empty: each that may"
        problem={problems.node}
        value={draft.node}
        onChange={(node) => onChange({ node })}
      />
    </div>
  );
}
