/** Icons and state glyphs, drawn on 16 × 16 with a line of 1.5. */

import type { ReactNode } from 'react';

const PATHS = {
  key: (
    <>
      <circle cx="5.2" cy="8" r="2.7" />
      <path d="M7.9 8H14m-2 0v2.6" />
    </>
  ),
  overview: (
    <>
      <rect x="2" y="2.5" width="5" height="6" rx="1.2" />
      <rect x="9" y="2.5" width="5" height="3.5" rx="1.2" />
      <rect x="9" y="8" width="5" height="5.5" rx="1.2" />
      <rect x="2" y="10.5" width="5" height="3" rx="1.2" />
    </>
  ),
  tasks: <path d="M2.5 4h1m2.5 0h7.5M2.5 8h1M6 8h7.5m-11 4h1M6 12h7.5" />,
  runs: (
    <>
      <circle cx="3.6" cy="8" r="1.8" />
      <circle cx="12.4" cy="3.9" r="1.8" />
      <circle cx="12.4" cy="12.1" r="1.8" />
      <path d="M5.4 7.6c2.8-.5 2.2-3.4 5.2-3.7M5.4 8.4c2.8.5 2.2 3.4 5.2 3.7" />
    </>
  ),
  audit: (
    <>
      <path d="M3.5 2.5h6l3 3v8h-9z" />
      <path d="M5.8 7h3.4M5.8 10h4.4" />
    </>
  ),
  fork: (
    <>
      <circle cx="4" cy="3.5" r="1.6" />
      <circle cx="12" cy="3.5" r="1.6" />
      <circle cx="4" cy="12.5" r="1.6" />
      <path d="M4 5.1v5.8m8-5.8c0 3.4-5.5 2.4-7.3 5.8" />
    </>
  ),
  files: (
    <>
      <path d="m2.5 5 5.5-2.7L13.5 5v6L8 13.7 2.5 11z" />
      <path d="M2.5 5 8 7.7 13.5 5M8 7.7v6" />
    </>
  ),
  download: <path d="M8 2.5v8M4.8 7.5 8 10.7l3.2-3.2M3 13.5h10" />,
  failed: (
    <>
      <path d="M8 2.2 14.3 13H1.7z" />
      <path d="M8 6.4v3.2m0 1.7v.1" />
    </>
  ),
  approvals: (
    <>
      <path d="M13.5 8.5v3.2a1.8 1.8 0 0 1-1.8 1.8H4.3a1.8 1.8 0 0 1-1.8-1.8V4.3a1.8 1.8 0 0 1 1.8-1.8h5" />
      <path d="m5.5 7.5 2.3 2.3L14 3.6" />
    </>
  ),
  queues: (
    <>
      <path d="m2 5.5 6-3 6 3-6 3z" />
      <path d="m2 8.3 6 3 6-3M2 11l6 3 6-3" />
    </>
  ),
  workers: (
    <>
      <rect x="2.5" y="3" width="11" height="4" rx="1.2" />
      <rect x="2.5" y="9" width="11" height="4" rx="1.2" />
      <path d="M5 5h.1M5 11h.1" />
    </>
  ),
  limits: (
    <>
      <path d="M2.8 11.8a6 6 0 1 1 10.4 0" />
      <path d="M8 9.5 10.7 6" />
    </>
  ),
  schedules: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path d="M8 4.8V8l2.2 1.6" />
    </>
  ),
  pools: (
    <>
      <rect x="2" y="2.5" width="4.6" height="4.6" rx="1.2" />
      <rect x="2" y="8.9" width="4.6" height="4.6" rx="1.2" />
      <path d="M11.5 13.5v-10m-2.7 2.6 2.7-2.7 2.7 2.7" />
    </>
  ),
  triggers: <path d="M9 1.8 3.2 9.2h4L6.6 14.2l6-7.6h-4z" />,
  cluster: (
    <>
      <circle cx="8" cy="3.6" r="1.8" />
      <circle cx="3.6" cy="12" r="1.8" />
      <circle cx="12.4" cy="12" r="1.8" />
      <path d="m7.1 5.2-2.6 5.2m4.4-5.2 2.6 5.2M5.4 12h5.2" />
    </>
  ),
  events: <path d="M1.8 8.5h2.7L6.6 3l3 10.2 2-4.7h2.6" />,
  settings: (
    <>
      <circle cx="8" cy="8" r="2" />
      <path d="M8 1.8v1.7m0 9v1.7M1.8 8h1.7m9 0h1.7M3.6 3.6l1.2 1.2m6.4 6.4 1.2 1.2m0-8.8-1.2 1.2M4.8 11.2l-1.2 1.2" />
    </>
  ),
  push: <path d="M8 13V3.5M4 7l4-4 4 4" />,
  plus: <path d="M8 3v10M3 8h10" />,
  close: <path d="m4 4 8 8m0-8-8 8" />,
  check: <path d="m3.2 8.4 3.1 3.1 6.5-7" />,
  search: (
    <>
      <circle cx="7" cy="7" r="4.3" />
      <path d="m10.3 10.3 3.2 3.2" />
    </>
  ),
  copy: (
    <>
      <rect x="5.5" y="5.5" width="8" height="8" rx="1.6" />
      <path d="M10.5 5.5V4a1.5 1.5 0 0 0-1.5-1.5H4A1.5 1.5 0 0 0 2.5 4v5A1.5 1.5 0 0 0 4 10.5h1.5" />
    </>
  ),
  menu: <path d="M2.5 4.5h11m-11 3.5h11m-11 3.5h11" />,
  more: <path d="M3.5 8h.1M8 8h.1m4.4 0h.1" strokeWidth="2.2" />,
  pause: <path d="M5.5 3.5v9m5-9v9" />,
  play: <path d="M5 3.3v9.4l7.6-4.7z" />,
  retry: (
    <>
      <path d="M13 8a5 5 0 1 1-1.6-3.7L13 5.7" />
      <path d="M13 2.5v3.2H9.8" />
    </>
  ),
  stop: <rect x="4" y="4" width="8" height="8" rx="1.2" />,
  bookmark: <path d="M4 2.8h8v10.7L8 10.6l-4 2.9z" />,
  clock: (
    <>
      <circle cx="8" cy="8" r="5.7" />
      <path d="M8 4.8V8l2.2 1.5" />
    </>
  ),
  info: (
    <>
      <circle cx="8" cy="8" r="5.7" />
      <path d="M8 7.4v3.4M8 5.2v.1" />
    </>
  ),
  help: (
    <>
      <circle cx="8" cy="8" r="5.7" />
      <path d="M6.3 6.3a1.7 1.7 0 1 1 2.6 1.5c-.6.4-.9.7-.9 1.4m0 1.8v.1" />
    </>
  ),
  edit: <path d="M10.2 3.2l2.6 2.6-7.2 7.2-3 .4.4-3z" />,
  trash: <path d="M2.8 4.3h10.4M6 4.3V2.8h4v1.5m-5.8 0 .6 9.2h6.4l.6-9.2" />,
  down: <path d="m4 6.2 4 4 4-4" />,
  right: <path d="m6.2 4 4 4-4 4" />,
  link: (
    <path d="M6.8 9.2a2.6 2.6 0 0 0 3.7 0l2.2-2.2A2.6 2.6 0 0 0 9 3.3l-.9.9M9.2 6.8a2.6 2.6 0 0 0-3.7 0L3.3 9A2.6 2.6 0 0 0 7 12.7l.9-.9" />
  ),
  out: <path d="M6 2.8H3.8a1.3 1.3 0 0 0-1.3 1.3v7.8a1.3 1.3 0 0 0 1.3 1.3H6m4.3-2.4L13.2 8l-2.9-2.8M13 8H6" />,
  leader: <path d="m2.5 11.8-.8-7 3.7 2.7L8 3.2l2.6 4.3 3.7-2.7-.8 7z" />,
} as const satisfies Record<string, ReactNode>;

export type IconName = keyof typeof PATHS;

export function Icon({
  name,
  size = 16,
  className,
}: {
  readonly name: IconName;
  readonly size?: number;
  readonly className?: string;
}) {
  return (
    <svg
      viewBox="0 0 16 16"
      width={size}
      height={size}
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      className={className}
    >
      {PATHS[name]}
    </svg>
  );
}

/** Each state has its own shape, so that colour is never needed to tell it. */
export function StateGlyph({ state }: { readonly state: string }) {
  return (
    <svg
      viewBox="0 0 16 16"
      width={14}
      height={14}
      fill="none"
      stroke="currentColor"
      strokeWidth="1.7"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      {SHAPES[state] ?? <circle cx="8" cy="8" r="5.5" />}
    </svg>
  );
}

const slash = (
  <>
    <circle cx="8" cy="8" r="5.7" />
    <path d="m4.2 11.8 7.6-7.6" />
  </>
);
const tick = (
  <>
    <circle cx="8" cy="8" r="7" fill="currentColor" stroke="none" />
    <path d="m4.9 8.2 2.2 2.2 4-4.4" stroke="var(--panel)" />
  </>
);
const triangle = (
  <>
    <path d="M8 1.8 15 14H1z" fill="currentColor" stroke="none" />
    <path d="M8 6.2v3.4m0 2v.1" stroke="var(--panel)" />
  </>
);
const hollow = <circle cx="8" cy="8" r="5.5" />;
const full = <circle cx="8" cy="8" r="5" fill="currentColor" stroke="none" />;
const arrow = (
  <>
    <circle cx="8" cy="8" r="5.7" />
    <path d="M8 5v5m-2-1.8 2 2 2-2" />
  </>
);

const SHAPES: Readonly<Record<string, ReactNode>> = {
  ready: hollow,
  running: (
    <>
      <circle cx="8" cy="8" r="5.7" opacity="0.28" />
      <path d="M8 2.3A5.7 5.7 0 0 1 13.7 8" className="spin" />
      <circle cx="8" cy="8" r="2.2" fill="currentColor" stroke="none" />
    </>
  ),
  scheduled: (
    <>
      <circle cx="8" cy="8" r="5.7" />
      <path d="M8 4.9V8l2.1 1.4" />
    </>
  ),
  waiting: (
    <>
      <path d="M4 2h8M4 14h8M5 2c0 3.5 3 3.5 3 6s-3 2.500-3 6m6-12c0 3.500-3 3.500-3 6s3 2.500 3 6" />
    </>
  ),
  completed: tick,
  failed: (
    <>
      <rect
        x="2.7"
        y="2.7"
        width="10.6"
        height="10.6"
        rx="2"
        transform="rotate(45 8 8)"
        fill="currentColor"
        stroke="none"
      />
      <path d="m5.900 5.900 4.200 4.200m0-4.200-4.200 4.200" stroke="var(--panel)" />
    </>
  ),
  cancelled: slash,
  online: full,
  healthy: full,
  starting: <circle cx="8" cy="8" r="5.5" strokeDasharray="2.4 2.4" />,
  offline: hollow,
  left: hollow,
  disabled: slash,
  draining: arrow,
  lost: triangle,
  dead: triangle,
  stale: <circle cx="8" cy="8" r="5.5" strokeDasharray="2.4 2.4" />,
  well: tick,
  attention: triangle,
  trouble: (
    <>
      <rect
        x="2.7"
        y="2.7"
        width="10.6"
        height="10.6"
        rx="2"
        transform="rotate(45 8 8)"
        fill="currentColor"
        stroke="none"
      />
      <path d="M8 5v3.600m0 2v.1" stroke="var(--panel)" />
    </>
  ),
  paused: (
    <>
      <circle cx="8" cy="8" r="5.7" />
      <path d="M6.500 5.800v4.400m3-4.400v4.400" />
    </>
  ),
};
