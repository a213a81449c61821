import { useTexts } from "@/texts/language";

export function OverviewPage() {
  const { frame } = useTexts();
  return (
    <div className="page">
      <div className="page-head">
        <h1>{frame.overview}</h1>
      </div>
    </div>
  );
}
