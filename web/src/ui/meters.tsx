/** Small figures: a meter and a sparkline. */

import { polylinesOf } from '../model/histogram.ts';

export function Meter({
  value,
  max,
  label,
  tone = '',
}: {
  readonly value: number;
  readonly max: number;
  readonly label: string;
  readonly tone?: string;
}) {
  const part = max <= 0 ? 0 : Math.min(1, value / max);
  return (
    <div
      className={`meter ${tone}`}
      role="meter"
      aria-label={label}
      aria-valuenow={value}
      aria-valuemin={0}
      aria-valuemax={Math.max(max, value)}
    >
      <i style={{ width: `${part * 100}%` }} />
    </div>
  );
}

export function Sparkline({
  values,
  label,
  state = 'running',
  wide = false,
}: {
  readonly values: readonly (number | null)[];
  readonly label: string;
  readonly state?: string;
  /** Takes the whole width. */
  readonly wide?: boolean;
}) {
  const lines = polylinesOf(values, 96, 22);
  return (
    <svg
      className={`spark s-${state} ${wide ? 'wide' : ''}`}
      viewBox="0 -1 96 24"
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      {lines.map((points) => (
        <g key={points}>
          <polygon points={`${points.split(',')[0]},22 ${points} ${points.split(' ').at(-1)?.split(',')[0]},22`} />
          <polyline points={points} />
        </g>
      ))}
    </svg>
  );
}
