/** The panel that takes the input of a push, as a form or as JSON. */

import type { Handler } from '../../api.ts';
import type { Draft, Field as FormField } from '../../model/schema-form.ts';
import { Field, Segmented } from '../../ui/fields.tsx';
import { Panel } from '../../ui/layout.tsx';
import { SchemaForm } from '../../ui/schema-form.tsx';

export type InputMode = 'form' | 'json';

/** The contents of the form, and the properties of the input without a field. */
export interface WrittenInput {
  readonly draft: Draft;
  readonly rest: Draft;
}

export function InputPanel({
  fields,
  known,
  disagreement,
  mode,
  written,
  json,
  problems,
  onMode,
  onWritten,
  onJson,
}: {
  /** Undefined if the handler has no schema for a form. */
  readonly fields: readonly FormField[] | undefined;
  /** Whether a worker offers the handler. */
  readonly known: boolean;
  /** The different schemas that workers tell of its input. */
  readonly disagreement: Handler['disagreement'];
  readonly mode: InputMode;
  readonly written: WrittenInput;
  readonly json: string;
  readonly problems: Readonly<Record<string, string>>;
  readonly onMode: (mode: InputMode) => void;
  readonly onWritten: (written: WrittenInput) => void;
  readonly onJson: (json: string) => void;
}) {
  return (
    <Panel
      title="Input"
      actions={
        fields === undefined ? (
          <span className="quiet">JSON</span>
        ) : (
          <Segmented
            label="Input as"
            options={[
              { value: 'form', label: 'Form' },
              { value: 'json', label: 'JSON' },
            ]}
            value={mode}
            onChange={onMode}
          />
        )
      }
    >
      <div className="panel-body stack">
        {mode === 'form' && fields !== undefined ? (
          <>
            <SchemaForm
              fields={fields}
              draft={written.draft}
              problems={problems}
              onChange={(draft: Draft) => onWritten({ ...written, draft })}
            />
            {Object.keys(written.rest).length > 0 && (
              <p className="quiet">Kept, without a field: {Object.keys(written.rest).join(', ')}</p>
            )}
          </>
        ) : (
          <Field
            label="Input as JSON"
            problem={problems.input}
            hint={fields === undefined && known ? hintOf(disagreement) : undefined}
          >
            {(props) => (
              <textarea
                {...props}
                className="input mono"
                rows={8}
                spellCheck={false}
                value={json}
                onChange={(event) => onJson(event.target.value)}
              />
            )}
          </Field>
        )}
      </div>
    </Panel>
  );
}

/** Why there is no form. */
function hintOf(disagreement: Handler['disagreement']): string {
  if (disagreement === undefined) return 'This handler has no schema for its input.';
  const sides = disagreement.map(({ workers }) => workers.join(', ')).join(' against ');
  return `Workers disagree about the input of this handler: ${sides}.`;
}
