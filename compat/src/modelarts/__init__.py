"""The part of ModelArts' SDK that AIS-Bench's scripts call, on a Danlu server: sessions, estimators, OBS."""
