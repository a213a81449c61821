const PATHS = {
  overview: "M4 4h7v7H4zM13 4h7v4h-7zM13 11h7v9h-7zM4 14h7v6H4z",
  jobs: "M4 6h16M4 12h16M4 18h10",
  experiments: "M4 19V5M4 19h16M8 15l3.500-5 3 2.500L20 6",
  models: "M12 3l8 4.500v9L12 21l-8-4.500v-9zM12 12l8-4.500M12 12v9M12 12L4 7.500",
  store:
    "M4 7c0-1.700 3.600-3 8-3s8 1.300 8 3-3.600 3-8 3-8-1.300-8-3zM4 7v10c0 1.700 3.600 3 8 3s8-1.300 8-3V7M4 12c0 1.700 3.600 3 8 3s8-1.300 8-3",
  book: "M12 6.500C10 4.500 7 4 4 5v13.500c3-1 6-.5 8 1.500 2-2 5-2.500 8-1.500V5c-3-1-6-.5-8 1.500zM12 6.500V20",
  cluster: "M4 5h16v6H4zM4 13h16v6H4zM7.500 8h.01M7.500 16h.01",
  admin: "M12 3l7 3v5c0 4.500-3 8-7 10-4-2-7-5.500-7-10V6z",
  user: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4.500 20.500c1-4 4-5.500 7.500-5.500s6.500 1.500 7.500 5.500",
  plus: "M12 5v14M5 12h14",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM20 20l-4-4",
  close: "M6 6l12 12M18 6L6 18",
  check: "M5 12.500l4.500 4.500L19 7.500",
  down: "M6 9.500l6 6 6-6",
  up: "M6 14.500l6-6 6 6",
  right: "M9 6l6 6-6 6",
  left: "M15 6l-6 6 6 6",
  copy: "M9 9h11v11H9zM15 9V4H4v11h5",
  stop: "M7 7h10v10H7z",
  pause: "M9 6v12M15 6v12",
  play: "M8 5.500l11 6.500-11 6.500z",
  again: "M4 12a8 8 0 0 1 13.700-5.600L20 9M20 4v5h-5M20 12a8 8 0 0 1-13.700 5.600L4 15M4 20v-5h5",
  trash: "M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13",
  more: "M5.500 12h1M11.500 12h1M17.500 12h1",
  menu: "M4 6h16M4 12h16M4 18h16",
  info: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 11v5M12 8h.01",
  warning: "M12 4l9 16H3zM12 10v5M12 17.500h.01",
  clock: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 7v5l3.500 2",
  download: "M12 4v11M7 10.500l5 5 5-5M5 20h14",
  upload: "M12 16V5M7 9.500l5-5 5 5M5 20h14",
  columns: "M4 5h16v14H4zM10 5v14M15 5v14",
  key: "M15 9.500a4.500 4.500 0 1 0-4.200 4.500L12.500 16H15v2.500h2.500V21H21v-3.500L15 11.500M9 9h.01",
  folder: "M3 6h6l2 2.500h10V19H3z",
  file: "M6 3h8l4 4v14H6zM14 3v4h4",
  link: "M10 14a4 4 0 0 0 6 .5l3-3a4 4 0 0 0-5.700-5.700L12 7M14 10a4 4 0 0 0-6-.5l-3 3a4 4 0 0 0 5.700 5.700L12 17",
  bell: "M6 16V11a6 6 0 0 1 12 0v5l1.500 2h-15zM10 20.500h4",
  filter: "M4 5h16l-6 7.500V19l-4-2v-4.500z",
  chart: "M4 20V4M4 20h16M8 16v-4M12 16V8M16 16v-6",
  wrap: "M4 6h16M4 12h13a3 3 0 0 1 0 6h-4M15 15.500l-2.500 2.500 2.500 2.500M4 18h5",
  toEnd: "M12 4v12M6.500 11l5.500 5.500 5.500-5.500M5 20h14",
  edit: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
  terminal: "M4 5h16v14H4zM7.500 9.500l3 2.500-3 2.500M12.500 15h4",
  enlarge: "M14 4h6v6M20 4l-7 7M10 20H4v-6M4 20l7-7",
  star: "M12 4l2.500 5.500 6 .600-4.500 4 1.300 6L12 17l-5.300 3.100 1.300-6-4.500-4 6-.600z",
  pin: "M9 4h6l-1 7 3 3H7l3-3zM12 14v6",
  eye: "M2.500 12c3-5 6-7 9.500-7s6.500 2 9.500 7c-3 5-6 7-9.500 7s-6.500-2-9.500-7zM12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6z",
  globe:
    "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM3 12h18M12 3c3 3 3.500 6 3.500 9s-.5 6-3.500 9c-3-3-3.500-6-3.500-9S9 6 12 3z",
  moon: "M20 14.500A8.500 8.500 0 0 1 9.500 4a8.500 8.500 0 1 0 10.500 10.500z",
} as const;

export type IconName = keyof typeof PATHS;

/** A small picture beside words. Never alone: the words, or a label of the button, say what it means. */
export function Icon(props: { name: IconName }) {
  return (
    <svg
      className={`icon icon-${props.name}`}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.8"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[props.name]} />
    </svg>
  );
}
