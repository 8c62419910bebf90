/** The field that asks for a name before something is lost that cannot be brought back. */

import { Field } from './fields.tsx';

export function TypedName({
  name,
  typed,
  onTyped,
}: {
  readonly name: string;
  readonly typed: string;
  readonly onTyped: (typed: string) => void;
}) {
  return (
    <Field label={`Type ${name} to confirm`}>
      {(props) => (
        <input
          {...props}
          className="input"
          value={typed}
          onChange={(event) => onTyped(event.target.value)}
          autoComplete="off"
          spellCheck={false}
        />
      )}
    </Field>
  );
}
